/** In UTC, always with milliseconds, as the platform requires. */
export const instant = (time: string | Date): string => new Date(time).toISOString();
