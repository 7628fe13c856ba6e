import type { Terminal } from './terminal.ts';

const named =
  /`(?:sis-relay (?!<)|(?=(?:status|letters|waiting|trace|pause|resume|publish|check-message|snapshots|reconcile|crosswalk|scopes|console|auth-url)(?: |`)))([^`]+)`/g;

/** A command that a sentence names in backquotes, as it is typed here. */
export const asTyped = (text: string, { command }: Pick<Terminal, 'command'>): string =>
  text.includes('`') ? text.replace(named, (_, words: string) => `\`${command(words)}\``) : text;
