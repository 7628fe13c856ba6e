import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { acknowledged, reading } from '../client/operation.ts';

const scope = 'core:*:*';

export const getConfigurationVariable = reading({
  name: 'read-configuration-variable',
  call: 'GET /lp/configVariables/{variableId}/definition',
  scope,
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
  name: 'read-configuration-values',
  call: 'GET /lp/configVariables/{variableId}/values',
  scope,
  answer: z.looseObject({}),
});

/** In the platform's own shape. */
export const readConfigurationValues = (platform: Platform, variableId: string) =>
  platform.call(getConfigurationValues, { path: { variableId } });

export const putConfigurationValue = acknowledged({
  name: 'set-configuration-value',
  call: 'PUT /lp/configVariables/{variableId}/values/org',
  scope,
  repeatable: true,
});

/** For the whole organization. */
export const setConfigurationValue = (platform: Platform, variableId: string, orgValue: unknown) =>
  platform.call(putConfigurationValue, { path: { variableId }, json: { OrgValue: orgValue } });
