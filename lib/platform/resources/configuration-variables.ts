import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { acknowledged, reading } from '../client/operation.ts';

const variable = { component: 'lp', scope: 'core:*:*', repeatable: true } as const;

export const getConfigurationVariable = reading({
  ...variable,
  name: 'read-configuration-variable',
  method: 'GET',
  path: '/configVariables/{variableId}/definition',
  repeats: { ConfigId: 'variableId' },
  answer: z.looseObject({
    ConfigId: z.string(),
    Name: z.string(),
    Scope: z.string(),
    Description: z.string(),
    DataType: z.string(),
    DefaultValue: z.string(),
    CanEditSystemValue: z.boolean(),
  }),
});

/** What a configuration variable is; its id is words joined by dots. */
export const readConfigurationVariable = (platform: Platform, variableId: string) =>
  platform.call(getConfigurationVariable, { path: { variableId } });

export const getConfigurationValues = reading({
  ...variable,
  name: 'read-configuration-values',
  method: 'GET',
  path: '/configVariables/{variableId}/values',
  answer: z.looseObject({}),
});

/** In the platform's own shape. */
export const readConfigurationValues = (platform: Platform, variableId: string) =>
  platform.call(getConfigurationValues, { path: { variableId } });

export const putConfigurationValue = acknowledged({
  ...variable,
  name: 'set-configuration-value',
  method: 'PUT',
  path: '/configVariables/{variableId}/values/org',
});

/** For the whole organization. */
export const setConfigurationValue = (platform: Platform, variableId: string, orgValue: unknown) =>
  platform.call(putConfigurationValue, { path: { variableId }, json: { OrgValue: orgValue } });
