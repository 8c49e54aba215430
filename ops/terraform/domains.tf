# The same as `email-gateway domain add`.

resource "aws_sesv2_email_identity" "sender" {
  for_each       = var.domains
  email_identity = each.key

  dkim_signing_attributes {
    next_signing_key_length = "RSA_2048_BIT"
  }
}

resource "aws_sesv2_email_identity_mail_from_attributes" "sender" {
  for_each               = aws_sesv2_email_identity.sender
  email_identity         = each.value.email_identity
  mail_from_domain       = "bounce.${each.key}"
  behavior_on_mx_failure = "USE_DEFAULT_VALUE"
}
