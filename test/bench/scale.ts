import { functionNames } from '../../esbuild.config.ts';
import type { ColdStartScale } from './cold-start.ts';
import type { CommandScale } from './command.ts';
import type { GrowthScale } from './growth.ts';
import type { MessagesScale } from './messages.ts';
import type { PayloadsScale } from './payloads.ts';
import type { UploadScale } from './upload.ts';

/** How much of everything is measured. */
export type Scale = {
  messages: MessagesScale;
  payloads: PayloadsScale;
  coldStart: ColdStartScale;
  upload: UploadScale;
  growth: GrowthScale;
  command: CommandScale;
};

/**
 * What results/bench.md shows: ten minutes on two cores. A repeat begins cold, as five other processes had the processor before it:
 * with 500 messages, one without the ledger costs a quarter more than with 2,000.
 */
export const full: Scale = {
  messages: { launches: 3, rounds: 6, warmUps: 8, messages: { 0: 2_000, 20: 200 } },
  payloads: { launches: 3, rounds: 6, warmUps: 4, messages: 500 },
  coldStart: { functions: functionNames, repeats: 9 },
  upload: { bytes: 2 ** 30, repeats: 3 },
  growth: { sizes: [100, 1_000, 10_000, 100_000] },
  command: { rounds: 10 },
};

/** A first look, under a minute. */
export const quick: Scale = {
  messages: { launches: 1, rounds: 6, warmUps: 5, messages: { 0: 1_000, 20: 200 } },
  payloads: { launches: 1, rounds: 10, warmUps: 3, messages: 300 },
  coldStart: { functions: ['grade-push'], repeats: 5 },
  upload: { bytes: 2 ** 28, repeats: 1 },
  growth: { sizes: [100, 1_000, 10_000] },
  command: { rounds: 5 },
};

/** As little as runs through all of it. */
export const tiny: Scale = {
  messages: { launches: 1, rounds: 1, warmUps: 0, messages: { 0: 10, 20: 10 } },
  payloads: { launches: 1, rounds: 1, warmUps: 0, messages: 10 },
  coldStart: { functions: ['grade-push'], repeats: 1 },
  upload: { bytes: 2 ** 20, repeats: 1 },
  growth: { sizes: [10, 100] },
  command: { rounds: 1 },
};
