import { isTimestampOutOfRange, type RefusedCall, refusalText } from '../core/platform-error.ts';

/**
 * How far the platform's clock is ahead of ours, in seconds. A refused timestamp tells it (`Timestamp out of range\r\n<server
 * epoch seconds>`, or with other whitespace, or none); undefined where the refusal is another, or was cut off.
 */
export const clockSkewIn = (refused: RefusedCall, nowMs: number): number | undefined => {
  // A number that is cut off would set the clock wrong by decades.
  if (refused.cutOff || !isTimestampOutOfRange(refused)) return undefined;
  const serverSeconds = /timestamp\s+out\s+of\s+range\s*(\d{1,12})(?![\d…])/i.exec(refusalText(refused))?.[1];
  return serverSeconds === undefined ? undefined : Number(serverSeconds) - Math.floor(nowMs / 1000);
};
