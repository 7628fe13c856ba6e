import { groupsView } from '../../views/letters.ts';
import { addScreen, asOf, type Desk } from '../desk.ts';

export const addCauses = (desk: Desk): void =>
  addScreen(desk, ['/causes', 'Causes'], async () => {
    const { value, atMs } = await desk.lists.letters.get();
    const { groupsOf, all, queued } = value;
    const found = { groups: groupsOf(all).groups, queued, matching: all.length, listed: all.length };
    return [...groupsView(found, desk.name), asOf(atMs)];
  });
