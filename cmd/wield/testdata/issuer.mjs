// An OAuth issuer for tests: node issuer.mjs PATH_OF_OIDC_PROVIDER. It prints its address.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(pathToFileURL(process.argv[2]));
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const client = (client_id, scope) => ({
    client_id, client_secret: `${client_id}-secret`, scope, grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
  });
  const provider = new Provider(address, {
    clients: [client('ada', 'tools'), client('eve', 'tools'), client('idle', 'other')],
    scopes: ['tools', 'other'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({ scope: 'tools other', audience: resource, accessTokenFormat: 'jwt' }),
      },
    },
    extraTokenClaims: (_, token) => ({ groups: token.clientId === 'ada' ? ['staff'] : [] }),
  });
  server.on('request', provider.callback());
  console.log(address);
});
