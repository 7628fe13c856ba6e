import { parseArgs } from 'node:util';
import { createScreen } from './screen.ts';

const words = wordsGiven();
// The rest takes a second to load.
createScreen().heading('sis-relay, all of it on this machine');
const { playProgram } = await import('./play-program.ts');
process.exitCode = await playProgram(words.toLowerCase());

/** `npm start -- null grade` plays only the scenarios whose title holds these words. */
function wordsGiven(): string {
  try {
    return parseArgs({ allowPositionals: true }).positionals.join(' ');
  } catch {
    process.stderr.write(
      'npm start takes no options. `npm start -- null grade` plays the scenarios whose title holds these words.\n',
    );
    process.exit(2);
  }
}
