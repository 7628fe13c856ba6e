import * as z from 'zod';
import type { Platform } from '../client/client.ts';
import { reading } from '../client/operation.ts';
import { itemsOf, pageOf } from './paging.ts';

export const getDemographicsDataTypes = reading({
  name: 'list-demographics-data-types',
  method: 'GET',
  component: 'lp',
  path: '/demographics/dataTypes/',
  scope: 'core:*:*',
  repeatable: true,
  answer: pageOf(z.looseObject({ DataTypeId: z.string() })),
});

export const listDemographicsDataTypes = (platform: Platform) => itemsOf(platform, getDemographicsDataTypes);

export const postDemographicsField = reading({
  name: 'create-demographics-field',
  method: 'POST',
  component: 'lp',
  path: '/demographics/fields/',
  scope: 'core:*:*',
  // Each call creates one more. Platforms are known to answer 500 to it.
  repeatable: false,
  answer: z.looseObject({ FieldId: z.union([z.number(), z.string()]) }),
});

/** `DataTypeId` is a GUID. */
export const createDemographicsField = (
  platform: Platform,
  field: { Name: string; Description: string; DataTypeId: string },
) => platform.call(postDemographicsField, { json: field });
