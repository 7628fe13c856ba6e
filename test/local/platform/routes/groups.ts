import { json } from '../http/answer.ts';
import { notFound } from '../http/refusal.ts';
import { richTextOut } from '../rich-text.ts';
import { route } from '../route.ts';
import { emptyComment } from '../state.ts';

export const groupRoutes = [
  route({
    method: 'GET',
    component: 'lp',
    path: '{orgUnitId}/groupcategories/{groupCategoryId}/groups/',
    scope: 'groups:group:read',
    permission: 'SeeGroups',
    handle({ ids, state: { tables } }) {
      const category = tables.groupCategories.get(ids.groupCategoryId);
      if (category?.orgUnitId !== ids.orgUnitId) throw notFound('Group category');
      const groups = tables.groups.where('groupCategoryId', ids.groupCategoryId);
      return json(
        groups.map(({ groupId, name, userIds }) => ({
          ...{ GroupId: groupId, Name: name, Description: richTextOut(emptyComment), Enrollments: userIds },
        })),
      );
    },
  }),
];
