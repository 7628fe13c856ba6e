import type * as z from 'zod';
import type { Message } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import type { SafeText } from '../../message/safe-text.ts';
import type { ReadSecret } from '../../platform/auth/secret-reader.ts';
import type { SigningUser } from '../../platform/client/authentication.ts';
import type { Platform } from '../../platform/client/client.ts';
import type { Operation } from '../../platform/client/operation.ts';
import type { GradeObject } from '../../platform/resources/grade-objects.ts';
import type { FileSizeLimits } from '../../runtime/aws/settings.ts';
import type { OpenedFile } from '../../runtime/files/source.ts';

/** What one kind of message does. An integration is defined completely in its file. */
export type Integration<Data> = {
  /** The name of the function's file, queue, event and test; the message type is `sis.<name>.v1`. */
  name: string;
  data: z.ZodType<Data>;
  /** Fields that hold secrets, which no message may carry: if one does, its letter is written without their values. */
  forbidden?: readonly string[];
  /**
   * The key of the one resource on the platform that the message changes, as in `enrollment/2001/301`. Messages about it take
   * turns, including those of other integrations.
   */
  resource(data: Data, message: Message<Data>): string;
  /** The first words of all such keys: the function's role can access only these items of the ledger. */
  changes: readonly string[];
  /** Whether messages name files: then the role lets the function read them, and it takes few messages at a time. */
  files?: boolean;
  /** The folder of secrets that it reads, below the stage's. */
  secrets?: string;
  /**
   * The parts of the resource that the message sets; each is ordered separately. Default: the whole. An integration that is not
   * repeatable and shares its resource with others uses the message itself as the field.
   */
  fields?(data: Data, message: Message<Data>): readonly string[];
  /** Every call of the platform that it may make, and so the scopes that it needs; any other call is a defect. */
  operations: readonly Operation<unknown>[];
  /**
   * Decides whose calls go first if the platform does not take all at once; default: `normal`. Replays, and messages that are
   * marked so, are `bulk`.
   */
  priority?: Priority;
  /** Whether its calls may be sent twice without harm; a function if that depends on the message. */
  repeatable: boolean | ((data: Data) => boolean);
  /** The platform user whose credential must sign; default: the service's own. */
  actor?(data: Data): SigningUser;
  run(data: Data, context: IntegrationContext): Promise<unknown>;
  /** How to find out whether an attempt that left no outcome was done after all. */
  verify?: Verification<Data>;
  /** The intended values, of which the ledger keeps keyed digests: reconcile compares the platform with them. */
  effect?: Effect<Data>;
};

/** The values that a message sets, by field, and the values that the platform shows, in a form that can be compared. */
export type Effect<Data> = {
  wanted(data: Data): Record<string, string>;
  shown(data: Data, context: IntegrationContext): Promise<PlatformState>;
};

/** By field, the current value, and when it was last changed, on the platform's clock. */
export type PlatformState = { fields: Record<string, string | undefined>; changedMs: number };

/** What an integration may use. */
export type IntegrationContext = {
  platform: Platform;
  /** Opens a file that the message names, if it has at most this many bytes. */
  openFile(uri: string, maximumBytes: number): Promise<OpenedFile>;
  /**
   * The grade objects of an org unit, from a list that was begun after the message was sent and in which `isIn` finds what the
   * message means; if there is none, from one that is a few seconds old.
   */
  gradeObjects(
    orgUnitId: number,
    isIn: (all: readonly GradeObject[]) => boolean,
  ): Promise<readonly GradeObject[]>;
  /** Reads a secret below the prefix of the current resource, for values that no message may carry. */
  readSecret: ReadSecret;
  limits: FileSizeLimits;
  /** Adds to the log line of a success. */
  note(text: SafeText): void;
  /** Those fields of the message that no newer message has set. */
  fields: readonly string[];
  /**
   * Call this before you write back what was read. It throws if the ledger knows that a field is older than what was done; then the
   * message comes back later.
   */
  mustBeCurrent(shown: PlatformState): Promise<void>;
};

export type Verification<Data> = {
  /** What a person would look for, as in `a submission of user 7 in folder 8`. */
  subject(data: Data): string;
  /** Whether a later change of this field of the resource may hide the effect: then its absence proves nothing. */
  isHiddenBy?(field: string): boolean;
  /** Looks on the platform for the effect of an attempt that began at `sinceMs` on our clock. */
  look?(
    data: Data,
    context: IntegrationContext & { sinceMs: number },
  ): Promise<'found' | 'absent' | 'unclear'>;
};
