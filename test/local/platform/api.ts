import { authenticate } from './auth/authentication.ts';
import { authorize, organizationId } from './auth/roles.ts';
import type { Answer } from './http/answer.ts';
import type { Arrival } from './http/arrival.ts';
import { jsonBody } from './http/body.ts';
import { methodNotAllowed, missingScope, notFound } from './http/refusal.ts';
import { type Call, type Match, matcher, type Route } from './route.ts';
import { assessmentRoutes } from './routes/assessments.ts';
import { classlistRoutes } from './routes/classlists.ts';
import { configurationVariableRoutes } from './routes/configuration-variables.ts';
import { contentRoutes } from './routes/content.ts';
import { demographicsRoutes } from './routes/demographics.ts';
import { dropboxFolderRoutes } from './routes/dropbox-folders.ts';
import { ePortfolioRoutes } from './routes/e-portfolio.ts';
import { enrollmentRoutes } from './routes/enrollments.ts';
import { gradeObjectRoutes } from './routes/grade-objects.ts';
import { gradeValueRoutes } from './routes/grade-values.ts';
import { groupRoutes } from './routes/groups.ts';
import { ltiLinkRoutes } from './routes/lti-links.ts';
import { newsRoutes } from './routes/news.ts';
import { orgUnitRoutes } from './routes/org-units.ts';
import { profileImageRoutes } from './routes/profile-images.ts';
import { quizAttemptRoutes } from './routes/quiz-attempts.ts';
import { submissionRoutes } from './routes/submissions.ts';
import { userAttributeRoutes } from './routes/user-attributes.ts';
import { userRoutes } from './routes/users.ts';
import { isListed } from './versions.ts';
import type { World } from './world.ts';

export const routes: Route[] = [
  ...assessmentRoutes,
  ...classlistRoutes,
  ...configurationVariableRoutes,
  ...contentRoutes,
  ...demographicsRoutes,
  ...dropboxFolderRoutes,
  ...ePortfolioRoutes,
  ...enrollmentRoutes,
  ...gradeObjectRoutes,
  ...gradeValueRoutes,
  ...groupRoutes,
  ...ltiLinkRoutes,
  ...newsRoutes,
  ...orgUnitRoutes,
  ...profileImageRoutes,
  ...quizAttemptRoutes,
  ...submissionRoutes,
  ...userAttributeRoutes,
  ...userRoutes,
];

const matched = routes.map((route) => ({ route, match: matcher(route) }));

/** The caller is known first; then the route, the scope, the org unit and the role are checked, in this order. */
export async function answerApiCall(arrival: Arrival, world: World): Promise<Answer> {
  const { user, covers } = authenticate(arrival, world);
  const { route, ids, texts } = findRoute(arrival, world);
  const call = { ...arrival, world, state: world.state, caller: user, ids, texts, json: once(arrival) };
  if (route.scope !== null && !covers(route.scope)) throw missingScope(route.scope);
  await checkRole(route, call);
  return route.handle(call);
}

function findRoute({ method, path }: Arrival, { site }: World): Match & { route: Route } {
  const apiPath = path.slice(site.apiRoot.length + 1);
  const fitting = matched.flatMap(({ route, match }) => {
    const found = match(apiPath);
    return found === null ? [] : [{ route, ...found }];
  });
  if (fitting.length === 0 || !isListed(apiPath)) throw notFound('Path');
  const found = fitting.find(({ route }) => route.method === method);
  if (found === undefined)
    throw methodNotAllowed(
      method,
      fitting.map(({ route }) => route.method),
    );
  return found;
}

async function checkRole(route: Route, call: Call) {
  const orgUnitId = (await route.where?.(call)) ?? call.ids.orgUnitId ?? organizationId;
  if (call.state.tables.orgUnits.get(orgUnitId) === undefined) throw notFound('Org unit');
  if (route.permission === null || route.own?.(call) === true) return;
  authorize(call.state, call.caller.userId, { orgUnitId, permission: route.permission });
}

function once({ request }: Arrival): () => Promise<unknown> {
  let body: Promise<unknown> | undefined;
  return () => {
    body ??= jsonBody(request);
    return body;
  };
}
