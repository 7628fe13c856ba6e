import { existsSync, readFileSync } from 'node:fs';
import { jsonIn } from '../../../message/json.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { checkStage, isOnAws, newRun, ownName, runDoctor, stepsNamed } from '../../../stage/doctor/doctor.ts';
import { type PausedBefore, pausedThroughDeployment } from '../../../stage/doctor/pause.ts';
import { doctorReport } from '../../../stage/doctor/report.ts';
import { writeNewFile } from '../../../stage/new-file.ts';
import { doctorStepsView, doctorView, minutesOf } from '../../views/doctor.ts';
import type { CommandContext } from '../command-context.ts';

type DoctorOptions = { list?: true; report?: string; after?: string };

export const doctor = async (
  context: CommandContext,
  named: string[],
  { list, report, after }: DoctorOptions,
): Promise<void> => {
  const { print, finish, terminal, signal } = context;
  const chosen = stepsNamed(after !== undefined && named.length === 0 ? [pausedThroughDeployment.id] : named);
  if (list) return print({ steps: chosen }, () => doctorStepsView(chosen));
  const before = after === undefined ? undefined : pausedIn(after);
  const { target, name } = context;
  const isAws = await isOnAws(target);
  const run = newRun();
  const file = report ?? (isAws ? `${name}-doctor-${run}.json` : undefined);
  if (file !== undefined && existsSync(file))
    throw new RefusedError(`${file} already exists. Name another file.`);
  const plan = [
    `It takes up to ${minutesOf(chosen)} minutes. What it makes, and removes, is named ${ownName(target, run)}; --list says what each step does and costs.`,
    ...chosen.flatMap(({ alarms = [] }) =>
      alarms.map((alarm) => `The alarm ${alarm} goes off, and sends its mail.`),
    ),
  ].join('\n');
  if (isAws) await checkStage(target);
  if (isAws) terminal.err(`${plan}\n`);
  if (isAws && !(await context.agreed('Try them on AWS?'))) return finish(false);
  const found = await runDoctor(target, run, {
    steps: chosen,
    signal,
    before,
    isAws,
    onStep: ({ id }) => terminal.line(`  ${id} …`),
  });
  if (file !== undefined) await writeNewFile(file, `${JSON.stringify(found, undefined, 2)}\n`);
  print({ ...found, ...(file !== undefined && { file }) }, () =>
    doctorView(found, { wanted: chosen.length, file }),
  );
  const isWell = found.steps.every(({ is }) => is !== 'different' && is !== 'failed');
  finish(isWell && found.steps.length === chosen.length && found.left.length === 0);
};

/** @throws UsageError if the file is no report that notes what was paused. */
const pausedIn = (file: string): PausedBefore => {
  if (!existsSync(file)) throw new UsageError(`--after: there is no file ${file}.`);
  const report = doctorReport.safeParse(jsonIn(readFileSync(file, 'utf8')));
  if (!report.success) throw new UsageError(`--after: ${file} is no report of doctor.`);
  if (report.data.pausedBefore !== undefined) return report.data.pausedBefore;
  throw new UsageError(
    `--after: no function was paused when ${file} was written. Pause one, and run \`sis-relay doctor ${pausedThroughDeployment.id}\` first.`,
  );
};
