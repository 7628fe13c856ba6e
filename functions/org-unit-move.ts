import * as z from 'zod';
import { handlerOf } from '../lib/delivery/handle/handler.ts';
import type { Integration } from '../lib/delivery/handle/integration.ts';
import { platformId } from '../lib/message/message.ts';
import { addParent, deleteParent, postParent, removeParent } from '../lib/platform/resources/org-units.ts';

const data = z
  .strictObject({ orgUnitId: platformId, fromParentId: platformId, toParentId: platformId })
  .refine(({ fromParentId, toParentId }) => fromParentId !== toParentId, {
    path: ['toParentId'],
    error: 'must differ from fromParentId',
  })
  .refine(({ orgUnitId, toParentId }) => orgUnitId !== toParentId, {
    path: ['toParentId'],
    error: 'must not be the org unit itself',
  });

/** Moves an org unit from one parent to another. It is attached before it is detached, so it is never an orphan. */
export const integration: Integration<z.infer<typeof data>> = {
  name: 'org-unit-move',
  data,
  resource: ({ orgUnitId }) => `org-unit/${orgUnitId}`,
  changes: ['org-unit'],
  operations: [postParent, deleteParent],
  repeatable: true,
  run: async ({ orgUnitId, fromParentId, toParentId }, { platform }) => {
    await addParent(platform, { orgUnitId, parentOrgUnitId: toParentId });
    // If it is not attached to the old parent, an earlier attempt got this far.
    await removeParent(platform, { orgUnitId, parentOrgUnitId: fromParentId });
  },
};

export const handler = handlerOf(integration);
