import * as z from 'zod';

// No limit of the platform is known: these are far above what it shows, and bound what one message can cost.

const atMost = (most: number) => (error?: z.core.$ZodStringParams) =>
  z.string(error).max(most, `must be at most ${most.toLocaleString('en-US')} characters`);

/** For a title, a name or an id. */
export const shortTextWith = atMost(2_000);
/** For some pages, such as a description. */
export const longTextWith = atMost(100_000);

export const shortText = shortTextWith();
export const longText = longTextWith();
/** As much as its queue accepts, such as a news item with embedded pictures. */
export const largeText = atMost(1_000_000)();

/** Has fractions of a second at most. */
export const time = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-01-31T09:30:00Z' })
  .max(64, 'must be at most 64 characters');

export const maxUrlLength = 8_192;
