import * as z from 'zod';
import type { Integration } from '../lib/integration.ts';
import { sisFields } from '../lib/sis-ids.ts';

type Declared = {
  name: string;
  /** Undefined: a schedule starts the function. */
  integration: Integration<unknown> | undefined;
  /** Its code. */
  source: string;
};

/** The names of the functions that serverless.yml has. */
export const stanzasIn = (serverless: string): string[] => {
  const [, stanzas = ''] = /^functions:\n((?: .*\n|\n|#.*\n)*)/m.exec(serverless) ?? [];
  return [...stanzas.matchAll(/^ {2}([\w-]+):\n/gm)].map(([, name = '']) => name);
};

/** What serverless.yml lacks for a function, in words that say where it belongs. */
export function missingEntries(serverless: string, { name, integration, source }: Declared): string[] {
  const isListed = (list: string): boolean => {
    const [, names = ''] =
      new RegExp(`^  ${list}: &${list}((?: \\[.*\\])|(?:\n    - .*)+)`, 'm').exec(serverless) ?? [];
    return names.split(/[\s[\],]+/).includes(name);
  };
  const wanted: [isWanted: boolean, isThere: boolean, where: string][] = [
    [
      true,
      stanzasIn(serverless).includes(name),
      'under functions: its handler, role, environment and events',
    ],
    [integration === undefined, isListed('scheduled'), 'under custom.scheduled, which gives it a role'],
  ];
  if (integration !== undefined)
    wanted.push(
      [
        true,
        isListed('integrations'),
        'under custom.integrations, which gives it a queue, a role and alarms',
      ],
      [
        integration.actor === undefined,
        isListed('signingAsService'),
        'under custom.signingAsService, as it signs with the service’s credential',
      ],
      [
        integration.actor !== undefined,
        isListed('signingAsUser'),
        'under custom.signingAsUser, as it signs with users’ credentials',
      ],
      [
        /\bopen(Named)?File\b/.test(source),
        isListed('readingFiles'),
        'under custom.readingFiles, as it opens files that messages name',
      ],
      [
        takesSisIds(integration),
        isListed('lookingUp'),
        'under custom.lookingUp, as it takes the SIS’ ids in place of the platform’s',
      ],
      [
        integration.effect !== undefined,
        isListed('seeingEffects'),
        'under custom.seeingEffects, as it has an effect, which needs the ledger’s key',
      ],
      [
        true,
        new RegExp(`^      ${name}: \\{ resources: \\[.+\\] \\}$`, 'm').test(serverless),
        `under resources.Mappings.Changes: the first word of its resources, as in org-unit/*`,
      ],
    );
  return wanted
    .filter(([isWanted, isThere]) => isWanted && !isThere)
    .map(([, , where]) => `serverless.yml: add ${name} ${where}`);
}

const takesSisIds = ({ data }: Integration<unknown>): boolean => {
  const schema = JSON.stringify(z.toJSONSchema(data, { io: 'input', unrepresentable: 'any' }));
  return sisFields.some(([platformField]) => schema.includes(`"${platformField}":`));
};
