// Verifies deliveries with the official Standard Webhooks library of Node. Reads JSON lines, answers ok or no.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { Webhook } = createRequire(process.env.STANDARDWEBHOOKS_NODE + "/")("standardwebhooks");
for await (const line of createInterface({ input: process.stdin })) {
  const d = JSON.parse(line);
  try {
    new Webhook(d.secret).verify(d.body, d.headers);
    console.log("ok");
  } catch (e) {
    console.log("no", e.message);
  }
}
