import { policyIds, roleOf, roles } from '../../../lib/stage/roles.ts';
import { writePart } from '../../documents.ts';

/** The table of roles in the runbook, as the code says it; permissions.test.ts proves that the policies say the same. */
export const rolesTable = (): string => {
  const rows = roles.map((role) => {
    const verbs = Object.entries(roleOf).flatMap(([verb, its]) => (its === role ? [`\`${verb}\``] : []));
    return [role, `\`${policyIds[role]}\``, verbs.join(', ')];
  });
  const header = ['role', 'policy', 'may, beside what the roles above may'];
  const lines = [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
  return `\n${lines.join('')}\n`;
};

/** `npm run generate` writes the table anew. */
export const command = async (): Promise<void> => writePart('roles', rolesTable());
