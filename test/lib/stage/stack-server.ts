import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** CloudFormation as the command meets it: the outputs of stacks by name, in AWS' query protocol. `refusal`: its error for all. */
export async function startStackServer(
  stacks: Record<string, Record<string, string>>,
  tags: Record<string, string> = {},
) {
  const asked: string[] = [];
  const state: { refusal: string | undefined } = { refusal: undefined };
  const error = (code: string, message: string) =>
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>r</RequestId></ErrorResponse>`;
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    const name = form.get('StackName') ?? '';
    asked.push(`${form.get('Action')} ${name}`);
    const outputs = stacks[name];
    const answer = (status: number, body: string) =>
      response.writeHead(status, { 'content-type': 'text/xml' }).end(body);
    if (state.refusal !== undefined) return answer(403, error(state.refusal, 'You may not'));
    if (outputs === undefined)
      return answer(400, error('ValidationError', `Stack with id ${name} does not exist`));
    const members = Object.entries(outputs).map(
      ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
    );
    const tagged = Object.entries(tags).map(
      ([key, value]) => `<member><Key>${key}</Key><Value>${value}</Value></member>`,
    );
    return answer(
      200,
      `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><StackStatus>UPDATE_COMPLETE</StackStatus><CreationTime>2026-01-31T09:30:00Z</CreationTime><Outputs>${members.join('')}</Outputs><Tags>${tagged.join('')}</Tags></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    state,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
