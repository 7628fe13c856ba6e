import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { RefusedError, UsageError } from '../../../operate/stage/command-errors.ts';
import { type ConnectionReport, checkConnection } from '../../../operate/stage/connection/check.ts';
import { withConnection } from '../../../operate/stage/connection/connection.ts';
import { type Question, questions, type StageAnswers, stageFile } from '../../../operate/stage/init.ts';
import { writeNewFile } from '../../../operate/stage/new-file.ts';
import { type TargetOptions, targetFrom } from '../../../operate/stage/target.ts';
import { list, type Note, text } from '../../views/view.ts';
import type { CommandContext } from '../command-context.ts';
import { optionOf } from '../options.ts';
import type { Terminal } from '../print/terminal.ts';

type Given = Partial<StageAnswers> & { stages: string; check?: true };

export const init = async (
  { terminal, targetOptions, isJson, print, finish }: CommandContext,
  { stages, check, ...given }: Given,
): Promise<void> => {
  const { stage, region } = targetOptions;
  const known: Partial<StageAnswers> = { ...given, ...(stage && { stage }), ...(region && { region }) };
  const ask: Terminal['ask'] = isJson ? async () => undefined : terminal.ask;
  const answers: Record<string, string> = {};
  let file = '';
  for (const question of questions) {
    answers[question.name] = await answerTo(question, known[question.name], { ...terminal, ask });
    file = join(stages, `${answers.stage}.yml`);
    if (existsSync(file)) throw new RefusedError(`${file} exists. Change it by hand, or name another stage.`);
  }
  const report = check ? await reportOn(answers as StageAnswers, targetOptions) : undefined;
  const isFit =
    report === undefined || (report.reachable && report.versions.every((each) => each.supported !== false));
  if (isFit) {
    await mkdir(stages, { recursive: true });
    await writeNewFile(file, stageFile(answers as StageAnswers));
  }
  const problems = report?.problems ?? [];
  print({ ...(isFit && { file }), settings: answers, problems }, () => [
    ...problems.map(({ what, remedy }): Note => ({ tone: 'bad', text: `${what}. ${remedy}` })),
    report?.credentialAccepted && good('The platform accepts the service’s credential.'),
    isFit ? good(`${file} is written.`) : { tone: 'bad', text: 'Nothing was written.' },
    ...(isFit ? [text('Next:'), list(nextSteps(answers as StageAnswers, stages))] : []),
  ]);
  finish(isFit);
};

const good = (text: string): Note => ({ tone: 'good', text });

const nextSteps = ({ stage, region }: StageAnswers, stages: string): string[] => [
  ...(stages === 'stages' ? [] : [`export SIS_RELAY_STAGES=${stages}`]),
  `create the secret sis-relay/${stage}/service, as lib/operate/stage/README.md says`,
  `npx serverless deploy --stage ${stage}`,
  `npx sis-relay status --stage ${stage} --region ${region}`,
];

/** Asks until the answer can be taken. @throws UsageError if there is no terminal to ask on, and neither an option nor a usual answer. */
const answerTo = async (
  { name, text, usual, problem }: Question,
  given: string | undefined,
  { ask, err, signal }: Pick<Terminal, 'ask' | 'err' | 'signal'>,
): Promise<string> => {
  const wrong = given === undefined ? undefined : problem(given);
  if (wrong !== undefined) throw new UsageError(`${optionOf(name)}: ${wrong}.`);
  if (given !== undefined) return given;
  for (;;) {
    const typed = await ask(`${text}${usual ? ` [${usual}]` : ''}: `);
    const answer = typed?.trim() || usual;
    if (typed === undefined && answer === undefined)
      throw new UsageError(`${optionOf(name)} is missing, and there is no terminal to ask on.`);
    if (signal.aborted || answer === undefined) throw new RefusedError('Nothing was written.');
    const why = problem(answer);
    if (why === undefined) return answer;
    err(`${why}.\n`);
  }
};

/** The stage need not exist yet: only the platform and the secret are asked. */
const reportOn = (
  { stage, region, platformUrl, lpVersion, leVersion }: StageAnswers,
  options: TargetOptions,
): Promise<ConnectionReport | undefined> => {
  const versions = { PLATFORM_LP_VERSION: lpVersion, PLATFORM_LE_VERSION: leVersion };
  const target = {
    ...targetFrom({ ...options, stage, region }),
    platform: async () => ({ PLATFORM_URL: platformUrl, SECRET_PREFIX: `sis-relay/${stage}`, ...versions }),
    deadLetterQueueUrl: async () => platformUrl,
    ledgerTable: undefined,
  };
  return withConnection(target, checkConnection);
};
