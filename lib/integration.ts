import type * as z from 'zod';
import type { OpenedFile } from './files.ts';
import type { Message } from './message.ts';
import type { Actor } from './platform/auth.ts';
import type { Platform } from './platform/client.ts';
import type { Operation } from './platform/operation.ts';
import type { ReadSecret } from './secret-value.ts';
import type { Limits } from './services.ts';

/** What one kind of message does: an integration's file is all there is to it. */
export type Integration<Data> = {
  /** Of the function's file, its queue, event and test; its message type is `sis.<name>.v1`. */
  name: string;
  /** What the message must carry. */
  data: z.ZodType<Data>;
  /** Fields that no message may carry, as they are secrets: where one does, its letter is without what they hold. */
  forbidden?: readonly string[];
  /**
   * The one thing on the platform that the message changes. Of one that is not repeatable, the message itself, unless `run`
   * looks for its effect before it does anything: then messages about the same thing take turns, in whichever order.
   */
  key(data: Data, message: Message<Data>): string;
  /** All that it may call of the platform, and so the scopes that it needs; any other call is a defect. */
  operations: readonly Operation<unknown>[];
  /** May its calls be sent twice without harm? Where messages of both kinds come, each is asked. */
  repeatable: boolean | ((data: Data) => boolean);
  /** Whose credential must sign: a platform user's id; default: the service's own. */
  actor?(data: Data): Actor;
  run(data: Data, world: World): Promise<unknown>;
  /** How to find out whether an attempt that left no outcome was done after all. */
  verify?: Verification<Data>;
};

/** What an integration may touch. */
export type World = {
  platform: Platform;
  /** Opens a file that the message names, of at most so many bytes. */
  openFile(uri: string, maximumBytes: number): Promise<OpenedFile>;
  /** Reads a secret below the prefix that belongs to the thing in hand, for what no message may carry. */
  readSecret: ReadSecret;
  limits: Limits;
};

export type Verification<Data> = {
  /** What a person would look for, as in `a submission of user 7 in folder 8`. */
  subject(data: Data): string;
  /** Looks on the platform for the effect of an attempt that began at `sinceMs` on our clock. */
  look?(data: Data, world: World & { sinceMs: number }): Promise<'found' | 'absent' | 'unclear'>;
};
