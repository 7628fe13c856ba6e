import { json } from '../http/answer.ts';
import { invalidParameters } from '../http/refusal.ts';
import { linkedPage } from '../paging.ts';
import { found, foundIn, route } from '../route.ts';

const idNames = ['objectId', 'rubricId', 'userId'];
const wordNames = ['assessmentType', 'objectType'];

export const assessmentRoutes = [
  route(
    'GET le/{orgUnitId}/assessment',
    { scope: 'core:*:*', permission: 'SeeAssessments' },
    ({ ids, query, tables }) => {
      const value = (name: string): string => query.get(name) ?? '';
      const wrong = [
        ...idNames.filter((name) => !/^[1-9]\d{0,14}$/.test(value(name))),
        ...wordNames.filter((name) => !/^\w+$/.test(value(name))),
      ];
      if (wrong.length > 0) throw invalidParameters(`Missing or wrong: ${wrong.join(', ')}`);
      if (tables.users.get(value('userId')) === undefined) throw invalidParameters('Wrong: userId');
      const key = [...wordNames, ...idNames].map(value);
      return json(found(tables.assessments.get(ids.orgUnitId, ...key), 'Assessment').assessment);
    },
  ),

  route(
    'GET le/{orgUnitId}/quizzes/{quizId}/attempts/',
    { scope: 'quizzing:attempts:read', permission: 'SeeQuizAttempts' },
    (call) => {
      const { quizId } = foundIn(call, call.tables.quizzes.get(call.ids.quizId), 'Quiz');
      const rows = call.tables.quizAttempts.where('quizId', quizId);
      const out = ({ attemptId, userId, attemptNumber, score, started, completed }: (typeof rows)[0]) => ({
        AttemptId: attemptId,
        QuizId: quizId,
        UserId: userId,
        AttemptNumber: attemptNumber,
        Score: score,
        Started: started,
        Completed: completed,
      });
      return linkedPage(call, { rows, idOf: ({ attemptId }) => attemptId, out });
    },
  ),
];
