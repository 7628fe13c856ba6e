import { keepMemoryBelow } from '../memory-limit.ts';

/** Beside the 60 MB of a container that has just started. */
const garbageMb = 96;

/** Called for each piece of a large file. */
export const collectGarbage = (): void => keepMemoryBelow(garbageMb);
