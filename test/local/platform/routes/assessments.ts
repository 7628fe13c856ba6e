import { json } from '../http/answer.ts';
import { invalidParameters, notFound } from '../http/refusal.ts';
import { route } from '../route.ts';

const idNames = ['objectId', 'rubricId', 'userId'] as const;
const wordNames = ['assessmentType', 'objectType'] as const;

export const assessmentRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path: '{orgUnitId}/assessment',
    scope: 'core:*:*',
    permission: 'SeeAssessments',
    handle({ ids, query, state: { tables } }) {
      const wrong = [
        ...idNames.filter((name) => !/^[1-9]\d{0,14}$/.test(query.get(name) ?? '')),
        ...wordNames.filter((name) => !/^\w+$/.test(query.get(name) ?? '')),
      ];
      if (wrong.length > 0) throw invalidParameters(`Missing or wrong: ${wrong.join(', ')}`);
      if (tables.users.get(Number(query.get('userId'))) === undefined)
        throw invalidParameters('Wrong: userId');
      const names = [...wordNames, ...idNames];
      const found = tables.assessments.get(ids.orgUnitId, ...names.map((name) => query.get(name) ?? ''));
      if (found === undefined) throw notFound('Assessment');
      return json(found.assessment);
    },
  }),
];
