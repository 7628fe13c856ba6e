import { MessageFailure } from '../../message/failure.ts';
import { isRetried } from '../../message/failure-kinds.ts';
import { type SafeText, safe } from '../../message/safe-text.ts';
import { failureOf } from '../../platform/client/failure-of.ts';

/**
 * Looks for the effect of a call whose answer does not confirm success, if the platform can be asked. If the effect cannot be seen,
 * the message is parked with that answer; if the look-up must wait, the message waits.
 */
export const confirmByReadBack = async (
  call: Promise<unknown>,
  look: () => Promise<boolean>,
): Promise<void> => {
  try {
    await call;
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind !== 'unexpected-answer') throw error;
    const { found, why } = await tryToFind(look);
    if (found) return;
    const { kind, message, remedy } = failure;
    throw new MessageFailure(kind, safe`${message}; ${why}`, { remedy, refusal: failure, cause: error });
  }
};

const tryToFind = async (look: () => Promise<boolean>): Promise<{ found: boolean; why: SafeText }> => {
  try {
    return { found: await look(), why: safe`the platform shows something else than was sent` };
  } catch (error) {
    const failure = failureOf(error);
    if (isRetried(failure.kind)) throw error;
    return { found: false, why: safe`and it cannot be seen whether it was done: ${failure.message}` };
  }
};
