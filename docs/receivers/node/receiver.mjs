// A receiver that verifies each delivery (standard library only). Run: WEBHOOK_SECRET=whsec_… node receiver.mjs 127.0.0.1:8090
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");

function verified(headers, body) {
  const id = headers["webhook-id"], sent = headers["webhook-timestamp"];
  if (!/^\d{1,14}$/.test(sent) || Math.abs(Date.now() / 1000 - sent) > 300) return false;
  const mac = createHmac("sha256", key).update(`${id}.${sent}.`).update(body);
  const want = Buffer.from("v1," + mac.digest("base64"));
  const given = (headers["webhook-signature"] ?? "").split(" ").map((s) => Buffer.from(s)); // several during a rotation
  return given.some((got) => got.length === want.length && timingSafeEqual(got, want));
}

const [host, port] = process.argv[2].split(":");
createServer(async (req, res) => {
  const chunks = [];
  let size = 0;
  for await (const c of req) if ((size += c.length) <= 1 << 20) chunks.push(c);
  const body = Buffer.concat(chunks);
  const ok = verified(req.headers, body);
  if (ok) console.log(req.headers["webhook-id"], body.toString()); // the id is the same when a delivery is repeated
  res.writeHead(ok ? 204 : 401).end();
}).listen(Number(port), host, function () {
  console.log(`listening on ${this.address().address}:${this.address().port}`);
});
