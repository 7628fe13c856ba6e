import { findLetter } from './find.ts';
import type { Letter } from './letter.ts';
import type { Target } from './target.ts';
import { openDesk, type VisitOptions } from './visit.ts';

/** One letter with its whole story, left where it is. */
export const showLetter = async (target: Target, options: VisitOptions & { id: string }): Promise<Letter> => {
  const desk = await openDesk(target);
  try {
    return await findLetter(desk, target, options);
  } finally {
    await desk.close();
  }
};
