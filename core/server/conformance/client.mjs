// Lists the tools and calls one with the official TypeScript client, and fails unless both work.
//
//   client.mjs TOOL ARGUMENTS http URL          the token is read from stdin
//   client.mjs TOOL ARGUMENTS stdio COMMAND…
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// The packages are installed elsewhere: HANDRAIL_NODE_MODULES says where.
const sdk = (name) => import(pathToFileURL(`${process.env.HANDRAIL_NODE_MODULES}/@modelcontextprotocol/sdk/dist/esm/client/${name}.js`));

const [tool, args, way, ...rest] = process.argv.slice(2);
const { Client } = await sdk("index");
let transport;
if (way === "http") {
  const { StreamableHTTPClientTransport } = await sdk("streamableHttp");
  const token = readFileSync(0, "utf8").trim();
  transport = new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
} else {
  const { StdioClientTransport } = await sdk("stdio");
  transport = new StdioClientTransport({ command: rest[0], args: rest.slice(1), stderr: "inherit" });
}
const client = new Client({ name: "typescript-client", version: "1.0.0" });
client.onerror = (error) => { console.error("client:", error); process.exitCode = 1; };
await client.connect(transport);
const { tools } = await client.listTools();
if (!tools.some((t) => t.name === tool)) throw new Error(`${tool} isn't listed: ${tools.map((t) => t.name)}`);
const result = await client.callTool({ name: tool, arguments: JSON.parse(args) });
if (result.isError) throw new Error(`${tool} failed: ${JSON.stringify(result.content)}`);
console.log(`typescript client, ${way}: ${tools.length} tools; ${tool}: ${JSON.stringify(result.content)}`);
await transport.terminateSession?.();
await client.close();
