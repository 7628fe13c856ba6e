import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { checkNewStage } from '../../../stage/connection/new-stage.ts';
import { type Question, questions, type StageAnswers, stageFile } from '../../../stage/init.ts';
import { writeNewFile } from '../../../stage/new-file.ts';
import { stagesFolder } from '../../../stage/target.ts';
import { optionOf } from '../../views/filter-options.ts';
import { quoted } from '../../views/quoted.ts';
import { type Note, text } from '../../views/view.ts';
import type { CommandContext } from '../command-context.ts';
import type { Terminal } from '../print/terminal.ts';

type InitOptions = Partial<StageAnswers> & { stages: string; check?: true };

export const init = async (
  { terminal, targetOptions, isJson, print, finish }: CommandContext,
  { stages, check, ...given }: InitOptions,
): Promise<void> => {
  const { stage, region } = targetOptions;
  const folder = folderOf(stages);
  const known: Partial<StageAnswers> = { ...given, ...(stage && { stage }), ...(region && { region }) };
  const ask: Terminal['ask'] = isJson ? async () => undefined : terminal.ask;
  const answers: Record<string, string> = {};
  let file = '';
  for (const question of questions) {
    answers[question.name] = await answerTo(question, known[question.name], { ...terminal, ask });
    file = join(folder, `${answers.stage}.yml`);
    if (existsSync(file)) throw new RefusedError(`${file} exists. Change it by hand, or name another stage.`);
  }
  const report = check ? await checkNewStage(answers as StageAnswers, targetOptions) : undefined;
  const isFit =
    report === undefined ||
    (report.reachable &&
      report.account.problem === undefined &&
      report.versions.every((each) => each.supported !== false));
  if (isFit) {
    await mkdir(folder, { recursive: true });
    await writeNewFile(file, stageFile(answers as StageAnswers));
  }
  const { problem, untried } = report?.account ?? {};
  const problems = [...(report?.problems ?? []), ...(problem ? [problem] : [])];
  print({ ...(isFit && { file }), settings: answers, problems }, () => [
    ...problems.map(({ what, remedy }): Note => ({ tone: 'bad', text: `${what}. ${remedy}` })),
    report?.credentialAccepted && good('The platform accepts the service’s credential.'),
    report?.untried !== undefined && { tone: 'todo', text: report.untried },
    untried !== undefined && { tone: 'todo', text: untried },
    isFit ? good(`${file} is written.`) : { tone: 'bad', text: 'Nothing was written.' },
    isFit && text('Next:'),
    // Never wrapped, so that its commands can be copied.
    isFit && { document: nextSteps(answers as StageAnswers, folder).join('\n'), label: 'Next' },
  ]);
  // The file is right then, but a stage with this credential does not work.
  const isRefused = report?.untried === undefined && report?.credentialAccepted === false;
  finish(isFit && !isRefused);
};

const good = (text: string): Note => ({ tone: 'good', text });

/** @throws UsageError if it is no folder. */
const folderOf = (stages: string): string => {
  // A shell leaves the ~ of --stages=~/our-relay as it is.
  const folder = stages === usualFolder ? stagesFolder() : resolve(stages.replace(/^~(?=\/|$)/, homedir()));
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new UsageError(`--stages: ${folder} is a file. Name a folder.`);
  return folder;
};

/** What packaging reads: that of the project, or of SIS_RELAY_STAGES, wherever the command is typed. */
const usualFolder = 'stages';

const nextSteps = ({ stage }: StageAnswers, folder: string): string[] => [
  ...(folder === stagesFolder() ? [] : [`export SIS_RELAY_STAGES=${quoted(folder)}`]),
  `create the secret sis-relay/${stage}/service, as lib/stage/README.md says`,
  `npx serverless deploy --stage ${stage}`,
  `npx sis-relay status --stage ${stage}`,
];

/** With the hint of the question, which may be in the problem already. */
const withHint = (problem: string, hint: string): string => {
  const sentence = problem.replace(/\.$/, '');
  return sentence.includes(hint.replace(/^.*as in /, '')) || sentence.includes(' There are: ')
    ? `${sentence}.`
    : `${sentence}, ${hint}.`;
};

/** Asks until the answer can be taken. @throws UsageError if there is no terminal to ask on, and neither an option nor a usual answer. */
const answerTo = async (
  { name, text, hint, usual, problem }: Question,
  given: string | undefined,
  { ask, err, signal }: Pick<Terminal, 'ask' | 'err' | 'signal'>,
): Promise<string> => {
  const wrong = given === undefined ? undefined : problem(given);
  if (wrong !== undefined) throw new UsageError(`${optionOf(name)}: ${withHint(wrong, hint)}`);
  if (given !== undefined) return given;
  for (let unanswered = 0; ; ) {
    const typed = await ask(`${text}, ${hint}${usual ? ` [${usual}]` : ''}: `);
    const answer = typed?.trim() || usual;
    if (typed === undefined && answer === undefined)
      throw new UsageError(`${optionOf(name)} is missing, ${hint}, and there is no terminal to ask on.`);
    // The end of the input is no answer, either, and stays one.
    if (answer === undefined) unanswered += 1;
    if (signal.aborted || unanswered === 2) throw new RefusedError('Nothing was written.');
    const why = answer === undefined ? 'It has no default: type an answer' : problem(answer);
    if (answer !== undefined && why === undefined) return answer;
    err(`${withHint(`${why}`, hint)}\n`);
  }
};
