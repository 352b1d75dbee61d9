// What the suite is asked to test, and what not.

/** The profiles that are claimed whole: everything at the level Core, and the features below. */
export const PROFILES = ['GATEWAY-HTTP', 'GATEWAY-GRPC', 'GATEWAY-TLS', 'GATEWAY-TCP'] as const

/** Features of the Gateway API that are not claimed, by the reason; all others are. */
export const NOT_CLAIMED: Readonly<Record<string, readonly string[]>> = {
  'UDP is not proxied.': ['UDPRoute'],
  'Portcullis is a gateway, not a mesh: it attaches routes to Gateways alone.': [
    'Mesh',
    'MeshClusterIPMatching',
    'MeshConsumerRoute',
    'MeshHTTPRouteBackendRequestHeaderModification',
    'MeshHTTPRouteNamedRouteRule',
    'MeshHTTPRouteQueryParamMatching',
    'MeshHTTPRouteRedirectPath',
    'MeshHTTPRouteRedirectPort',
    'MeshHTTPRouteRewritePath',
    'MeshHTTPRouteSchemeRedirect',
  ],
}
