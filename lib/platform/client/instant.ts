/** A time as the platform takes it: in UTC, always with milliseconds. */
export const instant = (time: string | Date): string => new Date(time).toISOString();
