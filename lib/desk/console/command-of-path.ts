import { options } from '../../options.ts';
import type { CommandName } from '../../stage/roles.ts';

/** What a form of each path does, as the command names it. Forms of other paths look and search. */
export const commands: Record<string, CommandName> = {
  '/reindex': 'letters reindex',
  '/replay': 'letters replay',
  '/edit': 'letters edit',
  '/edit/values': 'letters show --reveal',
  '/discard': 'letters discard',
  '/export': 'letters export',
  '/exports/:id/discard': 'letters discard',
  '/import': 'letters import',
  '/restore': 'letters import',
  '/uncertain': 'letters verify',
  '/uncertain/reveal': 'letters show --reveal',
  '/decide': 'letters discard',
  '/letters/:id/reveal': 'letters show --reveal',
  '/wake': 'waiting wake',
  '/publish': 'publish',
  '/pause': 'pause',
  '/resume': 'resume',
  ...Object.assign({}, ...options.map(({ forms }) => forms)),
};

/** Of an address, with its query and fragment or without. */
export const commandOfPath = (address: string): CommandName | undefined => {
  const [path = ''] = address.split(/[?#]/);
  return commands[path.replace(/^\/(letters|exports)\/[^/]+\/(reveal|discard)$/, '/$1/:id/$2')];
};
