// Who may in, and what the others are told.
export default async function ({ connect, failure, servers }) {
  const attempt = async (options) => {
    const told = await failure(async () => {
      const nc = await connect({ reconnect: false, ...options });
      await nc.flush();
      await nc.close();
    });
    return told ?? "welcome";
  };
  const users = { servers: servers.users };
  const token = { servers: servers.token };
  return {
    user: await attempt({ ...users, user: "alice", pass: "a-secret" }),
    wrongPassword: await attempt({ ...users, user: "alice", pass: "wrong" }),
    wrongUser: await attempt({ ...users, user: "mallory", pass: "a-secret" }),
    noPassword: await attempt({ ...users, user: "alice" }),
    nobody: await attempt(users),
    token: await attempt({ ...token, token: "t-secret" }),
    wrongToken: await attempt({ ...token, token: "wrong" }),
    tokenAsUser: await attempt({ ...token, user: "t-secret" }),
    noToken: await attempt(token),
    notAsked: await attempt({ servers: servers.plain, user: "anybody", pass: "anything" }),
  };
}
