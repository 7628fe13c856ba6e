import { isJson } from '../../../message/json.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { type Input, openInput } from '../../../stage/input.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import { linesIn } from '../../../stage/lines.ts';
import { checkRows } from '../../messages/publish/check.ts';
import { type Format, formatOf } from '../../messages/publish/formats.ts';
import { openRows } from '../../messages/publish/rows.ts';
import { checkedMessagesView, type FieldProblem } from '../../views/publish.ts';
import type { CommandContext } from '../command-context.ts';

export const checkMessage = async (
  { terminal, signal, print, finish }: CommandContext,
  file: string,
  options: { format?: Format },
): Promise<void> => {
  await using input = await openInput(file, terminal.stdin);
  const format = options.format ?? formatOf(input.name) ?? (await formatIn(input));
  if (format === 'csv')
    throw new UsageError(
      `${input.name} is a table. Check it with \`sis-relay publish ${file} --function <name> --dry-run\`.`,
    );
  const rows = await openRows({ input, format }, new Map());
  const problems: FieldProblem[] = [];
  const {
    skipped: _,
    same: __,
    ...checked
  } = await checkRows(rows(), {
    integrationOf: integrationNamed,
    attributes: {},
    signal,
    nowMs: Date.now(),
    onProblems: (line, found) => {
      if (problems.length < maxProblems) problems.push(...found.map((each) => ({ line, ...each })));
    },
  });
  print({ ...checked, problems }, () => checkedMessagesView({ ...checked, problems }, input.name));
  finish(checked.invalid === 0 && checked.valid > 0);
};

const maxProblems = 1_000;

/** Of what has no ending: lines if the first of several is JSON by itself. */
const formatIn = async (input: Input): Promise<Format> => {
  let isFirstJson = false;
  for await (const line of linesIn(input.open())) {
    if (line.trim() === '') continue;
    if (isFirstJson) return 'jsonl';
    if (!isJson(line)) return 'json';
    isFirstJson = true;
  }
  return 'json';
};
