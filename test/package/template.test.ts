import { TemplateModel } from '@aws/cloudformation-validate';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkStage, writeOut } from '../../package.config.ts';
import { mistakes } from './mistakes.ts';
import { type Packaged, packagedProject, slowMs } from './packaged.ts';
import { brokenRules, rules } from './rules.ts';

let packaged: Packaged;
let broken: Record<string, string[]>;

beforeAll(async () => {
  packaged = await packagedProject();
  broken = await brokenRules(packaged.template);
}, slowMs);

describe('the packaged template', () => {
  test.each(Object.keys(rules))('%s', (title) => expect(broken[title] ?? []).toEqual([]));
});

test('its loops are written out as CloudFormation itself would do it', () => {
  const looped = {
    Transform: 'AWS::LanguageExtensions',
    Resources: {
      'Fn::ForEach::Queues': [
        'function',
        ['grade-push', 'org-unit-move'],
        {
          // biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are CloudFormation's.
          '&{function}Queue': {
            Type: 'AWS::SQS::Queue',
            Properties: { QueueName: 'sis-${function}-${AWS::Region}' },
          },
          'Fn::ForEach::Topics': [
            'kind',
            ['a', 'b-c'],
            {
              '&{function}&{kind}Topic': {
                Type: 'AWS::SNS::Topic',
                Properties: { TopicName: '${function}-${kind}', DisplayName: { Ref: '&{function}Queue' } },
              },
            },
          ],
          // biome-ignore-end lint/suspicious/noTemplateCurlyInString: these are CloudFormation's.
        },
      ],
    },
  };
  const resourcesOf = (template: unknown) => {
    const model = new TemplateModel({
      path: 'template.json',
      readBytes: () => Buffer.from(JSON.stringify(template)),
    });
    const resources = model.resources();
    model.free();
    return resources;
  };
  expect(Object.keys(resourcesOf(looped))).toHaveLength(6);
  expect(writeOut(looped.Resources)).not.toHaveProperty('Fn::ForEach::Queues');
  expect(resourcesOf({ Resources: writeOut(looped.Resources) })).toEqual(resourcesOf(looped));
});

test.each(['prod-2', 'Prod', 'p'.repeat(20)])('a stage %s is not packaged', (stage) => {
  expect(() => checkStage(stage)).toThrow('must be of at most 19 lower-case letters and digits');
});

describe('a mistake is noticed:', () => {
  test.each(mistakes)('$title', async ({ rule, make }) => {
    const template = structuredClone(packaged.template);
    make(template);
    expect(Object.keys(await brokenRules(template))).toContain(rule);
  });

  test('there is one for each rule', () => {
    expect([...new Set(mistakes.map(({ rule }) => rule))].sort()).toEqual(Object.keys(rules).sort());
  });
});
