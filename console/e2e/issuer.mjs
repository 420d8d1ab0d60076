// An OpenID Connect issuer on this machine, which signs in everybody as one person.
import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts it. claims are those of the person. */
export async function issuer(claims) {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const attempts = new Map();
  const sign = (payload) => {
    const text = `${part({ alg: "RS256", kid: "k", typ: "JWT" })}.${part(payload)}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
  };
  const server = createServer(async (request, response) => {
    const at = new URL(request.url, "http://issuer");
    const json = (status, value) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (at.pathname === "/.well-known/openid-configuration")
      return json(200, {
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
      });
    if (at.pathname === "/keys")
      return json(200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }] });
    if (at.pathname === "/authorize") {
      const code = randomUUID();
      attempts.set(code, at.searchParams);
      const back = new URL(at.searchParams.get("redirect_uri"));
      back.searchParams.set("code", code);
      back.searchParams.set("state", at.searchParams.get("state"));
      response.writeHead(302, { Location: back.href });
      return response.end();
    }
    let body = "";
    for await (const piece of request) body += piece;
    const form = new URLSearchParams(body);
    const attempt = attempts.get(form.get("code"));
    attempts.delete(form.get("code"));
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (!attempt || attempt.get("code_challenge") !== challenge) return json(400, { error: "invalid_grant" });
    const now = Math.floor(Date.now() / 1000);
    const token = sign({
      iss: url,
      aud: attempt.get("client_id"),
      nonce: attempt.get("nonce"),
      iat: now,
      exp: now + 3600,
      ...claims,
    });
    return json(200, { token_type: "Bearer", expires_in: 3600, access_token: "opaque", id_token: token });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, end: () => server.close() };
}
