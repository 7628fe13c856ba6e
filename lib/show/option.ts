import type { Command } from 'commander';
import type { Verb } from '../operate/stage/roles.ts';
import type { Target } from '../operate/stage/target.ts';
import type { Cli } from './cli/command-context.ts';
import type { Desk } from './console/desk.ts';
import type { Operator } from './verbs/operator.ts';
import type { OptionStatus } from './views/status.ts';
import type { View } from './views/view.ts';

/** What an option adds to the command and the console. Only its commands are loaded at once: no command waits for the code of others. */
export type OptionDesk = {
  addCommands?(program: Command, cli: Cli): void;
  screens?(): Promise<(desk: Desk) => void>;
  status?(): Promise<StatusPart>;
  heldNames?(): Promise<HeldNames>;
};

/** What an option tells of a stage. It throws nothing: what cannot be read is unknown. */
export type StatusPart = (target: Target, signal: AbortSignal) => Promise<OptionStatus>;

/** Names of users that an option does not use until a person has looked, for the commands of the crosswalk. */
export type HeldNames = {
  /** `names`: undefined if they cannot be read with these rights. */
  read(
    target: Target,
    signal: AbortSignal,
  ): Promise<{ names: readonly string[] | undefined; facts: object; view: View }>;
  /** Accepts that each is still one person's. `command`: for the audit log. Undefined: the operator declined. */
  accept(
    operator: Operator,
    given: { names: readonly string[] | 'all'; reason?: string | undefined; command: Verb },
  ): Promise<unknown>;
  /** What moves with the code of an org unit, for whoever accepts its move. */
  movesWith(target: Target, code: string): Promise<View>;
};

/** Of `status`, from all options. */
export const statusPartsOf = async (desks: readonly OptionDesk[]): Promise<StatusPart[]> =>
  (await Promise.all(desks.map(({ status }) => status?.()))).flatMap((part) => part ?? []);

/** Undefined: no option has any. */
export const heldNamesIn = async (desks: readonly OptionDesk[]): Promise<HeldNames | undefined> =>
  desks.find(({ heldNames }) => heldNames)?.heldNames?.();
