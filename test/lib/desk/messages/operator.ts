import { discardLetters } from '../../../../lib/desk/messages/archive/discard.ts';
import { exportLetters } from '../../../../lib/desk/messages/archive/export.ts';
import { importLetters } from '../../../../lib/desk/messages/archive/import.ts';
import { editLetters } from '../../../../lib/desk/messages/edit/edit.ts';
import {
  type ReplayHooks,
  type ReplayOptions,
  replayLetters,
} from '../../../../lib/desk/messages/replay/replay.ts';
import { never, type Office } from '../cli/office.ts';

type Options<Command extends (...args: never[]) => unknown> = Partial<Parameters<Command>[1]>;

/** An operator who confirms everything, and waits for nothing that is not asked for. */
const common = ({ audit }: Pick<Office, 'audit'>) => ({
  filter: {},
  reason: 'a test',
  audit,
  signal: never,
  confirm: async () => true,
});
const sending = { canary: 0, rate: 500, stopAfter: 5, waitSeconds: 0 };

type Desk = Pick<Office, 'target' | 'audit'>;

export const discardFrom = (desk: Desk, options: Options<typeof discardLetters> = {}) =>
  discardLetters(desk.target, { ...common(desk), dryRun: false, ...options });

export const exportFrom = async (desk: Desk, options: Options<typeof exportLetters> = {}) => {
  const lines: string[] = [];
  const write = async (line: string) => void lines.push(line);
  return {
    ...(await exportLetters(desk.target, { ...common(desk), file: 'letters.jsonl', write, ...options })),
    lines,
  };
};

export const importInto = (desk: Desk, lines: readonly string[], dryRun = false) =>
  importLetters(desk.target, {
    file: 'letters.jsonl',
    lines: async function* () {
      yield* lines;
    },
    dryRun,
    audit: desk.audit,
    signal: never,
  });

/** By default it corrects the points of a grade. */
export const editAt = (desk: Desk, options: Options<typeof editLetters> = {}) =>
  editLetters(desk.target, {
    ...common(desk),
    ...sending,
    includeUncertain: false,
    reveal: false,
    isOpened: false,
    change: async (body) => body.replace('"points":8.5', '"points":7'),
    ...options,
  });

export const replayFrom = (
  desk: Desk,
  options: Partial<ReplayOptions> = {},
  hooks: Partial<ReplayHooks> = {},
) => {
  const { reason: _, filter, ...shared } = common(desk);
  return replayLetters(
    desk.target,
    { ...sending, filter, dryRun: false, includeUncertain: false, probe: true, ...options },
    { ...shared, ...hooks },
  );
};
