import { authenticate, authorize } from './auth/authentication.ts';
import type { Answer } from './http/answer.ts';
import { jsonBody } from './http/body.ts';
import { methodNotAllowed, missingScope, notFound } from './http/refusal.ts';
import { type Arrival, type Call, type Match, matcher, type Route } from './route.ts';
import { assessmentRoutes } from './routes/assessments.ts';
import { configurationVariableRoutes } from './routes/configuration-variables.ts';
import { contentRoutes } from './routes/content.ts';
import { dropboxRoutes } from './routes/dropbox.ts';
import { ePortfolioRoutes } from './routes/e-portfolio.ts';
import { enrollmentRoutes } from './routes/enrollments.ts';
import { gradeRoutes } from './routes/grades.ts';
import { ltiLinkRoutes } from './routes/lti-links.ts';
import { orgUnitRoutes } from './routes/org-units.ts';
import { userRoutes } from './routes/users.ts';
import { organizationId } from './state.ts';
import type { World } from './world.ts';

export const routes: Route[] = [
  ...assessmentRoutes,
  ...configurationVariableRoutes,
  ...contentRoutes,
  ...dropboxRoutes,
  ...ePortfolioRoutes,
  ...enrollmentRoutes,
  ...gradeRoutes,
  ...ltiLinkRoutes,
  ...orgUnitRoutes,
  ...userRoutes,
];

/** What the platform lists; it knows no path of another version. */
export const versions = [
  { ProductCode: 'lp', LatestVersion: '1.52', SupportedVersions: ['1.9', '1.12', '1.22', '1.49', '1.52'] },
  {
    ProductCode: 'le',
    LatestVersion: '1.92',
    SupportedVersions: ['1.9', '1.12', '1.22', '1.52', '1.82', '1.92'],
  },
  { ProductCode: 'eP', LatestVersion: '2.5', SupportedVersions: ['2.5'] },
];

const listed = new Set(
  versions.flatMap(({ ProductCode, SupportedVersions }) =>
    SupportedVersions.map((version) => `${ProductCode}/${version}`),
  ),
);

/** Whether what follows the API root begins with a component in a version of it that is listed. */
const isListed = (apiPath: string): boolean => listed.has(apiPath.split('/', 2).join('/'));

const matched = routes.map((route) => ({ route, match: matcher(route) }));

/** The caller is known first; then the route, the scope, the org unit and the role are checked, in this order. */
export async function answerApiCall(arrival: Arrival, world: World): Promise<Answer> {
  const { user, covers } = authenticate(arrival, world);
  const { route, ids, texts } = findRoute(arrival, world);
  const { tables } = world.state;
  const call = { ...arrival, world, tables, caller: user, ids, texts, json: once(arrival) };
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
  if (call.tables.orgUnits.get(orgUnitId) === undefined) throw notFound('Org unit');
  if (route.permission === null || route.own?.(call) === true) return;
  authorize(call.world.state, call.caller.userId, { orgUnitId, permission: route.permission });
}

function once({ request }: Arrival): () => Promise<unknown> {
  let body: Promise<unknown> | undefined;
  return () => {
    body ??= jsonBody(request);
    return body;
  };
}
