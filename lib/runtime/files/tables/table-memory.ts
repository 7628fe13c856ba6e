import { keepMemoryBelow } from '../memory-limit.ts';

/** Beside the 60 MB of a container that has just started. */
const memoryAllowanceMb = 96;

/** Called for each piece of a large file. */
export const keepTableMemoryLow = (): void => keepMemoryBelow(memoryAllowanceMb);
