import type { ReadOnCall } from '../../../option.ts';
import { listHeld, listMoved } from './names.ts';

export const readOnCall: ReadOnCall = async (target) => {
  const [held, { moved }] = await Promise.all([listHeld(target), listMoved(target)]);
  return { decisions: { names: held.length + moved.length }, arrivalsMs: {} };
};
