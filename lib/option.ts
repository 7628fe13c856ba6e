import type { Command } from 'commander';
import type { Crosswalk } from './crosswalk/look-up.ts';
import type { Cli } from './desk/cli/command-context.ts';
import type { ConsoleServices } from './desk/console/console-services.ts';
import type { OperatorContext } from './desk/operator-actions/operator-context.ts';
import type { OptionStatus } from './desk/views/status.ts';
import type { View } from './desk/views/view.ts';
import type { Platform } from './platform/client/client.ts';
import type { SqlEngine } from './runtime/files/tables/engine.ts';
import type { JobStore } from './runtime/jobs/store.ts';
import type { CommandName, Role } from './stage/roles.ts';
import type { Target } from './stage/target.ts';
import type { FunctionParts } from './stage/template/functions/function-parts.ts';

/** A part of sis-relay that a deployment may do without: all of it is in a folder of `options`, which can be deleted. */
export type Option = {
  /** Of its folder. */
  name: string;
  /** Files in `functions/` that are its own. */
  functions: readonly string[];
  /** What people do with it, as typed, and the role that it needs. */
  roles?: Readonly<Record<string, Role>>;
  /** Titles of its screens in the head of each page of the console. Each is at its title in small letters. */
  tabs?: readonly string[];
  /** By path, what its forms do, as typed. */
  forms?: Readonly<Record<string, string>>;
  /** Paths of its forms that change nothing but what a screen shows. */
  readOnlyForms?: readonly string[];
  /** What exports of the SIS say, for whoever compares it with the platform. */
  acceptedExports?(): Promise<{ readAcceptedExports: ReadAcceptedExports }>;
  /** What waits for a person, and what came last. Read every 15 minutes by `dead-letter-replay`, while its functions are deployed. */
  onCall?(): Promise<{ readOnCall: ReadOnCall }>;
  /** It receives files, by whose names a stage can say what it expects. */
  receivesFiles?: true;
  /** What is deployed for it. Loaded by packaging alone. */
  deployedParts(): Promise<{ deployedParts: FunctionParts }>;
  /** Loaded by the command and the console alone: no function holds it. */
  desk?(): Promise<{ desk: OptionDesk }>;
};

/** What an option adds to the command and the console. Only its commands are loaded at once: no command waits for the code of others. */
export type OptionDesk = {
  addCommands?(program: Command, cli: Cli): void;
  screens?(): Promise<(services: ConsoleServices) => void>;
  status?(): Promise<StatusPart>;
  reassignedNames?(): Promise<ReassignedNamesReview>;
};

/** What an option has for the people on call. @throws if it cannot be read. */
export type ReadOnCall = (target: Target, signal: AbortSignal) => Promise<OnCall>;

export type OnCall = {
  /** How many decisions a person must make, with what waits behind them, by what they are. */
  decisions: Record<string, number>;
  /** When what it receives came last, by its name. */
  arrivalsMs: Record<string, number>;
};

/** What an option reports of a stage. It throws nothing: what cannot be read is unknown. */
export type StatusPart = (target: Target, signal: AbortSignal) => Promise<OptionStatus>;

/** Names of users that an option does not use until a person has looked, for the commands of the crosswalk. */
export type ReassignedNamesReview = {
  /** `names`: undefined if they cannot be read with these rights. */
  read(
    target: Target,
    signal: AbortSignal,
  ): Promise<{ names: readonly string[] | undefined; facts: object; view: View }>;
  /** Accepts that each is still one person's. `command`: for the audit log. Undefined: the operator declined. */
  accept(
    operator: OperatorContext,
    given: { names: readonly string[] | 'all'; reason?: string | undefined; command: CommandName },
  ): Promise<unknown>;
  /** What moves with the code of an org unit, for whoever accepts its move. */
  movesWith(target: Target, code: string): Promise<View>;
};

/** An export of the SIS that was accepted last, of its name. */
export type AcceptedExport = {
  id: string;
  droppedMs: number;
  /** Some of its events may not be on their queues yet. */
  isSending: boolean;
};

export type ExportsQuery = {
  db: SqlEngine;
  folder: string;
  store: JobStore;
  crosswalk: Pick<Crosswalk, 'platformIds'>;
  platform: Platform;
  /** Whose effects are wanted. */
  functions: readonly ('enrollment-create' | 'grade-push')[];
  /**
   * A statement for each export; `$1` is when it was dropped. It reads the view `said`: `fn`, `org_unit_id`, `user_id` and `role_id` of
   * the platform as far as the crosswalk knows them for sure, and `data` as it was written. It may read `stands_for`, too: `field`,
   * `name` and `id` of the crosswalk's names.
   */
  insert: string;
  /** Leaves out exports that are being sent: what they say need not be on the platform yet. */
  settledOnly?: boolean;
};

/** Reads what the accepted exports say. Returns them all, the latest first; without any, no table is made. */
export type ReadAcceptedExports = (query: ExportsQuery) => Promise<AcceptedExport[]>;
