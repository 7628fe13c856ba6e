import type { StatusPart } from '../../../option.ts';
import { listHeld } from './names.ts';
import { heldView } from './view.ts';

export const status: StatusPart = async (target) => {
  const held = await listHeld(target).catch(() => undefined);
  return { facts: { held }, first: heldView(held ?? []), sections: [] };
};
