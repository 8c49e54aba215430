import { type ErrorRow, errorRule, type Refinement, rulesByReportedCode } from './rules.ts'

/** `error.code` of a response that exceeds the size limit. */
export const ANSWER_TOO_LARGE = 'ERR_ANSWER_TOO_LARGE'

/** `error.code` of a TLS connection that failed before its handshake was complete, whatever code OpenSSL or Node gave it. */
export const TLS_HANDSHAKE = 'ERR_TLS_HANDSHAKE'

/**
 * `error.code` of Node, undici and nodemailer, and `error.name` of aborted calls. Without a connection nothing can have been sent;
 * after the connection was established, every failure is ambiguous.
 */
export const NETWORK_ERRORS: readonly ErrorRow[] = [
  ['ECONNREFUSED', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['ENOTFOUND', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['EAI_AGAIN', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['EDNS', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['EADDRNOTAVAIL', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['EMFILE', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['EPROXY', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['UND_ERR_CONNECT_TIMEOUT', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['UND_ERR_CLOSED', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  ['UND_ERR_PRX_TLS', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],
  // Set by the gateway: the message of a TLS alert is the same before and after the handshake, so the connection's state decides.
  [TLS_HANDSHAKE, 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'],

  ['ECONNRESET', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ECONNABORTED', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  // A route can also disappear during a connection. NETWORK_REFINEMENTS handles messages that start with `connect`.
  ['EHOSTUNREACH', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['EHOSTDOWN', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ENETUNREACH', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ENETDOWN', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['EPIPE', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ERR_STREAM_PREMATURE_CLOSE', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ERR_SOCKET_CLOSED', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_SOCKET', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_DESTROYED', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_HEADERS_OVERFLOW', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ECONNECTION', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['ESOCKET', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['EPROTOCOL', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  // A TLS error after the handshake.
  ['EPROTO', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['EMESSAGE', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],

  // Set by the gateway: the provider answered, but the answer was not read.
  [ANSWER_TOO_LARGE, '*_ANSWER_TOO_LARGE', 'TRANSIENT_ERROR', 'retry-ambiguous'],

  ['ETIMEDOUT', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['ESOCKETTIMEDOUT', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_HEADERS_TIMEOUT', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_BODY_TIMEOUT', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['UND_ERR_ABORTED', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['ABORT_ERR', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['TimeoutError', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['AbortError', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],

  // The handshake fails for every e-mail, and the configuration must be corrected.
  ['CERT_HAS_EXPIRED', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['CERT_NOT_YET_VALID', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['CERT_REVOKED', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['CERT_UNTRUSTED', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['CERT_REJECTED', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['CERT_SIGNATURE_FAILURE', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['HOSTNAME_MISMATCH', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['ETLS', 'NETWORK_TLS_ERROR', 'CONFIGURATION_ERROR', 'retry-parked'],

  // nodemailer, when the server gave no reply code.
  ['EAUTH', 'SMTP_AUTH_FAILED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['ENOAUTH', 'SMTP_AUTH_FAILED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['EOAUTH2', 'SMTP_AUTH_FAILED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['ECONFIG', 'SMTP_CONFIGURATION_ERROR', 'CONFIGURATION_ERROR', 'final-parked'],
  ['EENVELOPE', 'SMTP_INVALID_ENVELOPE', 'VALIDATION_ERROR', 'final'],
]

export const NETWORK_REFINEMENTS: readonly Refinement[] = [
  {
    // Messages of Node, the AWS request handler and nodemailer for a connection that was never established.
    reportedCodes: ['TimeoutError', 'ETIMEDOUT', 'ECONNRESET', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
    message:
      /^connect |establish(?:ing)? a connection|connection timeout|greeting never received|before secure TLS connection/i,
    rule: errorRule('NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-unconnected'),
  },
]

export const NETWORK_RULES = rulesByReportedCode(NETWORK_ERRORS)
