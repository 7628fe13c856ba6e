import type { Crosswalk } from './delivery/crosswalk/look-up.ts';
import type { JobStore } from './delivery/durable/store.ts';
import type { Platform } from './platform/client/client.ts';
import type { SetEngine } from './runtime/files/tables/engine.ts';

/** An export of the SIS that was accepted last, of its name. */
export type AcceptedExport = {
  id: string;
  droppedMs: number;
  /** Some of its events may not be on their queues yet. */
  isSending: boolean;
};

export type ExportsQuery = {
  sets: SetEngine;
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
