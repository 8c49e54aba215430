output "settings" {
  description = "Settings to keep, for every process of the gateway"
  value = {
    AWS_REGION            = local.region
    SES_CONFIGURATION_SET = aws_sesv2_configuration_set.gateway.configuration_set_name
    SNS_TOPIC_ARNS        = aws_sns_topic.events.arn
  }
}

output "policy_arn" {
  description = "Attach it to the role or user of the gateway"
  value       = aws_iam_policy.gateway.arn
}

output "dns_records" {
  description = "Records to publish for each sender domain"
  value = flatten([
    for domain, identity in aws_sesv2_email_identity.sender : concat(
      [
        for token in identity.dkim_signing_attributes[0].tokens :
        { type = "CNAME", name = "${token}._domainkey.${domain}", value = "${token}.dkim.amazonses.com" }
      ],
      [
        { type = "MX", name = "bounce.${domain}", value = "10 feedback-smtp.${local.region}.amazonses.com" },
        { type = "TXT", name = "bounce.${domain}", value = "v=spf1 include:amazonses.com ~all" },
        { type = "TXT", name = "_dmarc.${domain}", value = "v=DMARC1; p=none" },
      ],
    )
  ])
}
