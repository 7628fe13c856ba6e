import { functionSettings, parameters } from '../../lib/stage/template/all-settings.ts';
import { tableOf, writePart } from '../documents.ts';

const cellOf = (value: unknown): string => `\`${value === '' ? "''" : value}\``;

/** The table of a stage's parameters in the deployment guide, as they are declared. */
export const parametersTable = (): string => {
  const rows = Object.entries(parameters).map(([name, { usual, prod, description }]) => [
    `\`${name}\``,
    prod === undefined ? cellOf(usual) : `${cellOf(usual)}; \`prod\`: ${cellOf(prod)}`,
    description,
  ]);
  return `\n${tableOf(['parameter', 'default', 'what it does'], rows)}\n`;
};

/** The table of what functions read and no parameter sets. */
export const variablesTable = (): string => {
  const rows = functionSettings()
    .filter(({ setting }) => setting.parameter === undefined && setting.deployed === undefined)
    .map(({ setting: { variable, usual, description }, functions }) => [
      `\`${variable}\``,
      usual === undefined ? '–' : cellOf(usual),
      description,
      functions.map((name) => (name === undefined ? 'those of queues' : `\`${name}\``)).join(', '),
    ]);
  return `\n${tableOf(['variable', 'default', 'what it does', 'functions'], rows)}\n`;
};

/** `npm run generate` writes the tables anew. */
export const command = (): void => {
  writePart('parameters', parametersTable());
  writePart('variables', variablesTable());
};
