import type * as z from 'zod';
import type { Message } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import type { ReadSecret } from '../../platform/auth/reader.ts';
import type { Actor } from '../../platform/client/authentication.ts';
import type { Platform } from '../../platform/client/client.ts';
import type { Operation } from '../../platform/client/operation.ts';
import type { GradeObject } from '../../platform/resources/grade-objects.ts';
import type { OpenedFile } from '../../runtime/files/source.ts';

/** What one kind of message does: an integration's file is all there is to it. */
export type Integration<Data> = {
  /** That of the function's file, queue, event and test; its message type is `sis.<name>.v1`. */
  name: string;
  /** What the message must carry. */
  data: z.ZodType<Data>;
  /** Fields that hold secrets, which no message may carry: the letter of one that does is written without their values. */
  forbidden?: readonly string[];
  /**
   * The key of the one resource on the platform that the message changes, as in `enrollment/2001/301`. Messages about it take
   * turns, also those of other integrations.
   */
  resource(data: Data, message: Message<Data>): string;
  /** The first words of all such keys: the function's role lets it at these items of the ledger alone. */
  changes: readonly string[];
  /** Whether messages name files: the role lets the function read them, and it takes few messages at a time. */
  files?: boolean;
  /** The folder of secrets that it reads, below the stage's. */
  secrets?: string;
  /**
   * The parts of the resource that the message sets: each is ordered by itself. Default: the whole. An integration that is not
   * repeatable and shares its resource with others names the message itself.
   */
  fields?(data: Data, message: Message<Data>): readonly string[];
  /** Every call of the platform that it may make, and so the scopes that it needs; any other call is a defect. */
  operations: readonly Operation<unknown>[];
  /** Whose calls go first where the platform does not take all at once; default: `normal`. Replays, and messages that are marked so, are `bulk`. */
  priority?: Priority;
  /** Whether its calls may be sent twice without harm; a function where that depends on the message. */
  repeatable: boolean | ((data: Data) => boolean);
  /** The platform user whose credential must sign; default: the service's own. */
  actor?(data: Data): Actor;
  run(data: Data, context: IntegrationContext): Promise<unknown>;
  /** How to find out whether an attempt that left no outcome was done after all. */
  verify?: Verification<Data>;
  /** What is intended, of which the ledger keeps a keyed digest: reconcile compares the platform with it. */
  effect?: Effect<Data>;
};

/** What a message wants a resource to be, and what the platform shows of it, as values that can be compared. */
export type Effect<Data> = {
  /** By field, what the message wants it to be. */
  wanted(data: Data): Record<string, string>;
  /**
   * By field, what it is, and when it was changed last, on the platform's clock; undefined: there is nothing. By it another attempt is seen
   * to be done, without waiting for its lease and grace period to end; without it, nobody looks.
   */
  shown?(data: Data, context: IntegrationContext): Promise<Shown | undefined>;
};

export type Shown = { fields: Record<string, string | undefined>; changedMs: number };

/** What an integration may touch. */
export type IntegrationContext = {
  platform: Platform;
  /** Opens a file that the message names, of at most so many bytes. */
  openFile(uri: string, maximumBytes: number): Promise<OpenedFile>;
  /** The grade objects of an org unit, listed a minute ago or less, or at `sinceMs` or later. */
  gradeObjects(orgUnitId: number, sinceMs?: number): Promise<readonly GradeObject[]>;
  /** Reads a secret below the prefix of the resource in hand, for what no message may carry. */
  readSecret: ReadSecret;
  limits: FileSizeLimits;
  /** Adds to the log line of a success. */
  note(text: string): void;
  /** Those fields of the message that no newer message has set. */
  fields: readonly string[];
  /**
   * To be asked before what was read is written back: it throws where the ledger knows that a field is older than what was done, and the
   * message comes back later.
   */
  mustBeCurrent(shown: Shown): Promise<void>;
};

/** How large a file may be that a message names. */
export type FileSizeLimits = { fileBytes: number; profileImageBytes: number };

export type Verification<Data> = {
  /** What a person would look for, as in `a submission of user 7 in folder 8`. */
  subject(data: Data): string;
  /** Whether a later change of this field of the resource may hide the effect: then that it is absent proves nothing. */
  isHiddenBy?(field: string): boolean;
  /** Looks on the platform for the effect of an attempt that began at `sinceMs` on our clock. */
  look?(
    data: Data,
    context: IntegrationContext & { sinceMs: number },
  ): Promise<'found' | 'absent' | 'unclear'>;
};
