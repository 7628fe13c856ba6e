import { loadOptionParts } from '../../options.ts';
import { connectionCheck } from './functions/connection-check.ts';
import { deadLetterReplay } from './functions/dead-letter-replay.ts';
import type { FunctionParts } from './functions/function-parts.ts';
import { tokenRefresh } from './functions/token-refresh.ts';

/** Of all functions that no queue triggers. */
export const functionParts: readonly FunctionParts[] = [
  tokenRefresh,
  connectionCheck,
  deadLetterReplay,
  ...(await loadOptionParts()),
];
