// Pairs the official TypeScript client with an endpoint by OAuth, in a real browser; then lets it renew its token, and revokes it.
// Fails unless all of that works.
//
//   pair.mjs TOOL ARGUMENTS URL BROWSER         BROWSER is a command that opens the address that is its argument
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const sdk = (name) => import(pathToFileURL(`${process.env.HANDRAIL_NODE_MODULES}/@modelcontextprotocol/sdk/dist/esm/client/${name}.js`));
const [tool, args, url, browser] = process.argv.slice(2);
const { Client } = await sdk("index");
const { StreamableHTTPClientTransport } = await sdk("streamableHttp");
const { UnauthorizedError, discoverOAuthServerInfo } = await sdk("auth");

// Where the browser takes the answer.
let arrived;
const answer = new Promise((resolve) => { arrived = resolve; });
const callback = createServer((request, response) => {
  const at = new URL(request.url, "http://127.0.0.1");
  if (at.pathname !== "/callback") { response.writeHead(404).end(); return; }
  response.end("Done.");
  arrived({ query: at.searchParams, referer: request.headers.referer });
});
await new Promise((resolve) => callback.listen(0, "127.0.0.1", resolve));
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;

let opened;
const kept = { redirects: 0 };
const provider = {
  redirectUrl,
  clientMetadata: { client_name: "TypeScript SDK", redirect_uris: [redirectUrl], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" },
  state: () => (kept.state ??= crypto.randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  redirectToAuthorization: (address) => {
    kept.redirects++;
    opened ??= spawn(browser, [address.href], { stdio: "ignore" });
  },
};
const expect = (what, ok, said = "") => { if (!ok) throw new Error(`${what}: ${said}`); };
const connect = async () => {
  const client = new Client({ name: "typescript-client", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try { await client.connect(transport); } catch (error) { error.transport = transport; throw error; }
  return client;
};
const call = async (client) => {
  const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
  expect(tool, !result.isError, JSON.stringify(result.content));
};
const done = () => {
  clearTimeout(late);
  opened?.kill();
  callback.close();
  callback.closeAllConnections();
};
const late = setTimeout(() => { console.error("pairing: it takes too long"); done(); process.exit(1); }, 300_000);
try {
  let transport;
  try { await connect(); } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    transport = error.transport;
  }
  expect("a client without a token", transport && kept.redirects === 1, "wasn't sent to the browser");
  const { query, referer } = await answer;
  expect("the answer", query.get("code") && query.get("state") === kept.state && query.get("iss") === new URL(url).origin, query.get("error") ?? "it isn't ours");
  expect("the referrer", referer === undefined, referer);
  await transport.finishAuth(query.get("code"));
  let client = await connect();
  await call(client);
  await client.close();

  const first = kept.tokens;
  kept.tokens = { ...first, access_token: "hr_expired" }; // as one that has expired: the client renews it by itself
  client = await connect();
  await call(client);
  await client.close();
  expect("renewal", kept.tokens.access_token !== "hr_expired" && kept.tokens.refresh_token !== first.refresh_token && kept.redirects === 1, "the client has the old tokens");

  const { authorizationServerMetadata: server } = await discoverOAuthServerInfo(url);
  const revoked = await fetch(server.revocation_endpoint, { method: "POST", body: new URLSearchParams({ token: kept.tokens.refresh_token, client_id: kept.client.client_id }) });
  expect("revocation", revoked.status === 200, revoked.status);
  let refused;
  try { await connect(); } catch (error) { refused = error; }
  expect("a revoked client", refused, "is let in");
  console.log(`typescript client, paired in a browser: ${tool}, renewal and revocation work`);
} finally { done(); }
process.exit(); // what a refused connection has left doesn't matter
