//! `Method`: every method, by its path.

use crate::named::named;

named! {
    /// A method, for the front end and for the metrics: by its path without the slash in front.
    pub(crate) enum Method, by path {
        Next "leafid.v1.Ids/Next"
        NextMany "leafid.v1.Ids/NextMany"
        ReserveRange "leafid.v1.Ids/ReserveRange"
        Stream "leafid.v1.Ids/Stream"
        Decode "leafid.v1.Ids/Decode"
        DecodeText "leafid.v1.Ids/DecodeText"
        CreateTag "leafid.v1.Tags/CreateTag"
        GetTag "leafid.v1.Tags/GetTag"
        ListTags "leafid.v1.Tags/ListTags"
        UpdateTag "leafid.v1.Tags/UpdateTag"
        DeleteTag "leafid.v1.Tags/DeleteTag"
        HealthCheck "grpc.health.v1.Health/Check"
        HealthWatch "grpc.health.v1.Health/Watch"
        Reflection "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        ReflectionAlpha "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        /// Any other method.
        Unknown "(other)"
    }
}

impl Method {
    /// The method of a path; those that issue ids come first.
    pub(super) fn of(path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or_default();
        let found = Self::ALL.into_iter().find(|method| method.path() == path);
        found.unwrap_or(Self::Unknown)
    }

    /// Whether it issues ids.
    pub(super) const fn issues(self) -> bool {
        matches!(
            self,
            Self::Next | Self::NextMany | Self::ReserveRange | Self::Stream
        )
    }

    /// Whether it takes one message, not a stream of them.
    pub(super) const fn takes_one(self) -> bool {
        !matches!(
            self,
            Self::Stream | Self::Reflection | Self::ReflectionAlpha
        )
    }

    /// Whether its answer is a stream.
    pub(super) const fn is_streaming(self) -> bool {
        matches!(
            self,
            Self::Stream | Self::HealthWatch | Self::Reflection | Self::ReflectionAlpha
        )
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Guards that the table has each method of the protocol files, with its kind.
    #[test]
    fn every_method_of_the_protocol_has_its_path() {
        let described = [
            crate::frontends::grpc::v1::DESCRIPTION,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        let mut count = 0;
        for bytes in described {
            for file in FileDescriptorSet::decode(bytes).unwrap().file {
                for service in &file.service {
                    for method in &service.method {
                        let (package, service) = (file.package(), service.name());
                        let path = format!("/{package}.{service}/{}", method.name());
                        let found = Method::of(&path);
                        assert_ne!(found, Method::Unknown, "{path}");
                        assert_eq!(found.is_streaming(), method.server_streaming(), "{path}");
                        assert_eq!(found.takes_one(), !method.client_streaming(), "{path}");
                        count += 1;
                    }
                }
            }
        }
        assert_eq!(count, Method::ALL.len() - 1);
        assert_eq!(Method::of("/leafid.v1.Ids/Nxet"), Method::Unknown);
        assert_eq!(Method::of("leafid.v1.Ids/Next"), Method::Unknown);
    }
}
