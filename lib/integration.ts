import type * as z from 'zod';
import type { ReadSecret } from './credentials/reader.ts';
import type { OpenedFile } from './files/files.ts';
import type { Message } from './message.ts';
import type { Actor } from './platform/auth/auth.ts';
import type { Platform } from './platform/client.ts';
import type { Operation } from './platform/core/operation.ts';

/** What one kind of message does: an integration's file is all there is to it. */
export type Integration<Data> = {
  /** Of the function's file, its queue, event and test; its message type is `sis.<name>.v1`. */
  name: string;
  /** What the message must carry. */
  data: z.ZodType<Data>;
  /** Fields that no message may carry, as they are secrets: where one does, its letter is without what they hold. */
  forbidden?: readonly string[];
  /**
   * The key of the one resource on the platform that the message changes, as in `enrollment/2001/301`: messages about it take turns, also
   * those of other integrations. Its first word is one of the resources that serverless.yml gives the function a right to.
   */
  resource(data: Data, message: Message<Data>): string;
  /**
   * What of the resource the message gives: only that is ordered, and supersedes. Default: the whole. Of one that is not
   * repeatable and shares its resource with others, itself.
   */
  fields?(data: Data, message: Message<Data>): readonly string[];
  /** All that it may call of the platform, and so the scopes that it needs; any other call is a defect. */
  operations: readonly Operation<unknown>[];
  /** May its calls be sent twice without harm? Where messages of both kinds come, each is asked. */
  repeatable: boolean | ((data: Data) => boolean);
  /** Whose credential must sign: a platform user's id; default: the service's own. */
  actor?(data: Data): Actor;
  run(data: Data, context: IntegrationContext): Promise<unknown>;
  /** How to find out whether an attempt that left no outcome was done after all. */
  verify?: Verification<Data>;
  /** How to see that another attempt was done, instead of waiting until it must have ended. */
  effect?: Effect<Data>;
};

/** What the platform tells of a resource, in the words in which its messages tell it. */
export type Effect<Data> = {
  /** By field, what the message wants it to be. */
  wanted(data: Data): Record<string, string>;
  /** By field, what it is, and when it was changed last, on the platform's clock; undefined: there is nothing. */
  shown(data: Data, context: IntegrationContext): Promise<Shown | undefined>;
};

export type Shown = { fields: Record<string, string | undefined>; changedMs: number };

/** What an integration may touch. */
export type IntegrationContext = {
  platform: Platform;
  /** Opens a file that the message names, of at most so many bytes. */
  openFile(uri: string, maximumBytes: number): Promise<OpenedFile>;
  /** Reads a secret below the prefix of the resource in hand, for what no message may carry. */
  readSecret: ReadSecret;
  limits: FileLimits;
  /** Says in the log what is worth knowing of a success. */
  note(text: string): void;
  /** Of the fields that the message gives, those that nothing newer has given since. */
  fields: readonly string[];
};

/** How large a file may be that a message names. */
export type FileLimits = { fileBytes: number; profileImageBytes: number };

export type Verification<Data> = {
  /** What a person would look for, as in `a submission of user 7 in folder 8`. */
  subject(data: Data): string;
  /** Looks on the platform for the effect of an attempt that began at `sinceMs` on our clock. */
  look?(
    data: Data,
    context: IntegrationContext & { sinceMs: number },
  ): Promise<'found' | 'absent' | 'unclear'>;
};
