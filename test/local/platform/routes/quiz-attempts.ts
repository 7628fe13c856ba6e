import { notFound } from '../http/refusal.ts';
import { linkedPage } from '../paging.ts';
import { route } from '../route.ts';
import type { QuizAttempt } from '../state.ts';

export const quizAttemptRoutes = [
  route({
    method: 'GET',
    component: 'le',
    path: '{orgUnitId}/quizzes/{quizId}/attempts/',
    scope: 'quizzing:attempts:read',
    permission: 'SeeQuizAttempts',
    handle(call) {
      const { quizzes, quizAttempts } = call.state.tables;
      const { quizId, orgUnitId } = call.ids;
      if (quizzes.get(quizId)?.orgUnitId !== orgUnitId) throw notFound('Quiz');
      const rows = quizAttempts.where('quizId', quizId);
      return linkedPage(call, { rows, idOf: ({ attemptId }) => attemptId, out: attemptOut });
    },
  }),
];

function attemptOut({ attemptId, quizId, userId, attemptNumber, score, started, completed }: QuizAttempt) {
  return {
    ...{ AttemptId: attemptId, QuizId: quizId, UserId: userId, AttemptNumber: attemptNumber },
    ...{ Score: score, Started: started, Completed: completed },
  };
}
